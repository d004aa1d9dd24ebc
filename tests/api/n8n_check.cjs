// Ask n8n's own package, for each operation of the node, which fields it shows and which it misses.
const [, , nodes, requests] = process.argv;
const { NodeHelpers } = require("n8n-workflow");
const { NextInLine } = require(`${nodes}/NextInLine.node.js`);
const { isSigned, NextInLineTrigger } = require(`${nodes}/NextInLineTrigger.node.js`);

const { description } = new NextInLine();
const shown = {};
for (const choice of description.properties.filter((each) => each.name === "operation")) {
  const [resource] = choice.displayOptions.show.resource;
  for (const { value: operation } of choice.options) {
    const node = { typeVersion: 1, parameters: {}, name: "x", type: "nextInLine", disabled: false };
    const given = { resource, operation };
    node.parameters = NodeHelpers.getNodeParameters(description.properties, given, true, false, node, description);
    const issues = NodeHelpers.getNodeParametersIssues(description.properties, node, description);
    shown[operation] = { fields: Object.keys(node.parameters), missing: Object.keys(issues?.parameters ?? {}) };
  }
}
const types = new NextInLineTrigger().description.properties[0].options.map((each) => each.value);
const signed = JSON.parse(requests).map(({ secret, headers, body }) => {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return isSigned(secret, lower, body);
});
console.log(JSON.stringify({ shown, types, signed }));
