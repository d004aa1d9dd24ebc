import type { IAuthenticateGeneric, ICredentialTestRequest, ICredentialType, INodeProperties } from "n8n-workflow";

/** Key of a company, and the address of the site. */
export class NextInLineApi implements ICredentialType {
  name = "nextInLineApi";
  displayName = "Next in Line API";
  properties: INodeProperties[] = [
    {
      displayName: "Address of the Site",
      name: "site",
      type: "string",
      default: "",
      placeholder: "https://jobs.example.com",
      required: true,
    },
    {
      displayName: "API Key",
      name: "key",
      type: "string",
      typeOptions: { password: true },
      default: "",
      description: "Begins with nilk_. The trigger needs the scope write.",
      required: true,
    },
  ];
  authenticate: IAuthenticateGeneric = {
    type: "generic",
    properties: { headers: { Authorization: "=Bearer {{$credentials.key}}" } },
  };
  test: ICredentialTestRequest = { request: { baseURL: "={{$credentials.site}}", url: "/api/v1/companies/me" } };
}
