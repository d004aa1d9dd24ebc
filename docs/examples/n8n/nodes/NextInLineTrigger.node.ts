import { createHmac, timingSafeEqual } from "node:crypto";
import type {
  IDataObject,
  IHookFunctions,
  IHttpRequestMethods,
  INodeType,
  INodeTypeDescription,
  IWebhookFunctions,
  IWebhookResponseData,
} from "n8n-workflow";

import { webhookTypes } from "./description.js";

const TOLERANCE_SECONDS = 5 * 60;

/** Trigger: makes an endpoint of its own while the workflow is active, and verifies what it gets. */
export class NextInLineTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: "Next in Line Trigger",
    name: "nextInLineTrigger",
    group: ["trigger"],
    version: 1,
    description: "Starts when something happens in a line",
    defaults: { name: "Next in Line Trigger" },
    inputs: [],
    outputs: ["main"],
    credentials: [{ name: "nextInLineApi", required: true }],
    webhooks: [{ name: "default", httpMethod: "POST", responseMode: "onReceived", path: "webhook", rawBody: true }],
    properties: [
      {
        displayName: "Types",
        name: "types",
        type: "multiOptions",
        options: webhookTypes,
        default: [],
        description: "None means all of them, also those added later",
      },
    ],
  };

  webhookMethods = {
    default: {
      async checkExists(this: IHookFunctions): Promise<boolean> {
        const { id } = this.getWorkflowStaticData("node");
        if (!id) return false;
        const found = await call(this, "GET", `/webhooks/${id as string}`).catch(() => null);
        return found !== null && found["url"] === this.getNodeWebhookUrl("default");
      },
      async create(this: IHookFunctions): Promise<boolean> {
        const url = this.getNodeWebhookUrl("default");
        const made = await call(this, "POST", "/webhooks", { url, types: this.getNodeParameter("types", []) });
        Object.assign(this.getWorkflowStaticData("node"), { id: made["id"], secret: made["secret"] });
        return true;
      },
      async delete(this: IHookFunctions): Promise<boolean> {
        const kept = this.getWorkflowStaticData("node");
        if (kept["id"]) await call(this, "DELETE", `/webhooks/${kept["id"] as string}`);
        delete kept["id"];
        delete kept["secret"];
        return true;
      },
    },
  };

  async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
    const { secret } = this.getWorkflowStaticData("node");
    const { rawBody } = this.getRequestObject() as unknown as { rawBody: Buffer };
    const headers = this.getHeaderData() as Record<string, string>;
    if (!isSigned(String(secret ?? ""), headers, rawBody.toString("utf8"))) {
      this.getResponseObject().status(401).end();
      return { noWebhookResponse: true };
    }
    const body = JSON.parse(rawBody.toString("utf8")) as IDataObject;
    return { workflowData: [this.helpers.returnJsonArray([{ id: headers["webhook-id"], ...body }])] };
  }
}

/** Whether a request was signed with the secret, lately, as Standard Webhooks 1.0 says. */
export function isSigned(secret: string, headers: Record<string, string | undefined>, body: string): boolean {
  const time = headers["webhook-timestamp"] ?? "";
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  if (key.length === 0 || !(Math.abs(Date.now() / 1000 - Number(time)) <= TOLERANCE_SECONDS)) return false;
  const text = `${headers["webhook-id"] ?? ""}.${time}.${body}`;
  const expected = Buffer.from(`v1,${createHmac("sha256", key).update(text).digest("base64")}`);
  return (headers["webhook-signature"] ?? "").split(" ").some((each) => {
    const given = Buffer.from(each);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

async function call(hook: IHookFunctions, method: IHttpRequestMethods, path: string, body?: object): Promise<IDataObject> {
  const { site } = await hook.getCredentials<{ site: string }>("nextInLineApi");
  const url = `${site.replace(/\/+$/, "")}/api/v1${path}`;
  const request = { method, url, json: true, ...(body ? { body: body as IDataObject } : {}) };
  return (await hook.helpers.httpRequestWithAuthentication.call(hook, "nextInLineApi", request)) as IDataObject;
}
