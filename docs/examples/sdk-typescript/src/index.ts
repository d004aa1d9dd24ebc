export { NextInLine, type Options, type Query, type RequestOptions } from "./client.js";
export { ApiError, ConnectionFailed, type FieldError } from "./errors.js";
export { VERSION } from "./version.js";
export { BadWebhook, verifyWebhook, type Webhook } from "./webhooks.js";
export type * from "./models.js";
