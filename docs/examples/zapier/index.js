// The Zapier app: what is written by hand. definition.json is made from docs/openapi.yaml.
const { version } = require("./package.json");

module.exports = {
  version,
  platformVersion: "19.1.0",
  authentication: {
    type: "custom",
    fields: [
      { key: "site", label: "Address of the site", required: true, helpText: "Like https://jobs.example.com, without a path" },
      { key: "key", label: "API key", type: "password", required: true, helpText: "Begins with nilk_; it needs the scope write" },
    ],
    test: { url: "{{bundle.authData.site}}/api/v1/companies/me" },
    connectionLabel: "{{name}}",
  },
  requestTemplate: { headers: { Authorization: "Bearer {{bundle.authData.key}}", Accept: "application/json" } },
  ...require("./definition.json"),
};
