import type { components, operations } from "./schema.js";

type Schemas = components["schemas"];

export type Application = Schemas["Application"];
export type ApplicationChange = Schemas["ApplicationChangeIn"];
type ListQuery = NonNullable<operations["list_job_applications"]["parameters"]["query"]>;
/** What a list of applications is limited to, its order, and the fields that are filled in. */
export type ApplicationFilters = Omit<ListQuery, "cursor" | "fields">;
export type Clock = Schemas["Clock"];
export type ClockAdvance = Schemas["ClockAdvance"];
export type Answers = Schemas["Answers"];
export type AnswerSet = Schemas["AnswersIn"]["answers"];
export type Contest = Schemas["Contest"];
export type Message = Schemas["Message"];
export type NewMessage = Schemas["MessageIn"];
export type ContestAnswer = Schemas["ContestAnswerIn"];
export type Form = Schemas["Form"];
export type FurtherQuestion = Schemas["FurtherQuestion"];
export type FurtherQuestionIn = Schemas["FurtherQuestionIn"];
export type QuestionIn = Schemas["QuestionIn"];
export type Company = Schemas["Company"];
export type Decision = Schemas["DecisionIn"];
export type Event = Schemas["Event"];
export type Exception = Schemas["ExceptionIn"];
export type File = Schemas["File"];
export type Files = Schemas["Files"];
export type FullWebhookDelivery = Schemas["FullWebhookDelivery"];
export type FullTask = Schemas["FullTask"];
export type ImportedApplication = Schemas["ImportedApplicationIn"];
export type ImportedRow = Schemas["ImportedRow"];
export type Job = Schemas["Job"];
export type JobChange = Schemas["JobChangeIn"];
export type NewJob = Schemas["JobIn"];
export type NewTask = Schemas["NewTask"];
export type NewWebhook = Schemas["NewWebhook"];
/** A person by name and email, or one whom the company already knows. */
export type NewApplication = ({ name: string; email: string } | { applicant_id: string; name?: string }) &
  Pick<Schemas["SubmissionIn"], "external_id" | "metadata" | "answers">;
export type Person = Schemas["Person"];
export type Pipeline = Schemas["Pipeline"];
export type PortalToken = Schemas["PortalToken"];
export type Reinstatement = Schemas["ReinstatementIn"];
export type SandboxCompany = Schemas["Sandbox"];
export type Schedule = Schemas["TaskSchedule"];
export type NewSchedule = Partial<Schemas["TaskScheduleIn"]> & { name: string; cron: string; type: string };
export type ScheduleChange = Partial<Schemas["TaskScheduleChangeIn"]>;
export type Scorecards = Schemas["Scorecards"];
export type Summary = Schemas["Summary"];
export type Task = Schemas["Task"];
export type TaskIn = Schemas["TaskIn"];
export type ToldEvent = Schemas["ToldEvent"];
export type Verdict = Schemas["Verdict"];
export type WebhookDelivery = Schemas["WebhookDelivery"];
export type WebhookEndpoint = Schemas["Webhook"];

/** A page of any list. */
export interface Page<Row> {
  data: Row[];
  next_cursor: string | null;
}

/** A page of the feed. Save `next_cursor` after the work on `data`. */
export type FeedPage = Schemas["Feed"];
/** A page of the changes that are no events. Save `next_cursor` after the work on `data`. */
export type ChangesPage = Schemas["Changes"];
