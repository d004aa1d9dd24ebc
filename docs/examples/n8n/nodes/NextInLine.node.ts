import type { INodeType, INodeTypeDescription } from "n8n-workflow";

import { properties } from "./description.js";

/** Declarative node: what it sends stands in its description, which is made from docs/openapi.yaml. */
export class NextInLine implements INodeType {
  description: INodeTypeDescription = {
    displayName: "Next in Line",
    name: "nextInLine",
    group: ["transform"],
    version: 1,
    subtitle: '={{ $parameter["operation"] + ": " + $parameter["resource"] }}',
    description: "Jobs, applications and the line of each job",
    defaults: { name: "Next in Line" },
    inputs: ["main"],
    outputs: ["main"],
    credentials: [{ name: "nextInLineApi", required: true }],
    requestDefaults: {
      baseURL: "={{ $credentials.site }}",
      headers: { Accept: "application/json", "Content-Type": "application/json" },
    },
    properties,
  };
}
