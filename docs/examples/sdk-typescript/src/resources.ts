import { sleep, type NextInLine } from "./client.js";
import type * as models from "./models.js";

class Resource {
  protected readonly client: NextInLine;

  constructor(client: NextInLine) {
    this.client = client;
  }
}

export interface Repeatable {
  idempotencyKey?: string | undefined;
}

/** Jobs and their lines. */
export class Jobs extends Resource {
  create(job: models.NewJob, options: Repeatable = {}): Promise<models.Job> {
    return this.client.call("POST", "/jobs", { json: job, ...options });
  }

  get(jobId: string): Promise<models.Job> {
    return this.client.call("GET", `/jobs/${jobId}`);
  }

  /** Return a job and its ETag, for `change`. */
  async getWithETag(jobId: string): Promise<[models.Job, string]> {
    const answer = await this.client.request("GET", `/jobs/${jobId}`);
    return [(await answer.json()) as models.Job, answer.headers.get("etag") ?? ""];
  }

  /** Yield jobs: all of the key's company, or the open ones without a key. */
  list(query: { status?: string; search?: string; external_id?: string } = {}): AsyncGenerator<models.Job> {
    return this.client.items("/jobs", query);
  }

  /** Change a job. A change of capacity or policy needs the ETag of the job as read. */
  change(jobId: string, changes: models.JobChange, etag?: string): Promise<models.Job> {
    const headers: Record<string, string> = etag === undefined ? {} : { "If-Match": etag };
    return this.client.call("PATCH", `/jobs/${jobId}`, { json: changes, headers });
  }

  open(jobId: string): Promise<models.Job> {
    return this.client.call("POST", `/jobs/${jobId}/open`);
  }

  pause(jobId: string): Promise<models.Job> {
    return this.client.call("POST", `/jobs/${jobId}/pause`);
  }

  close(jobId: string): Promise<models.Job> {
    return this.client.call("POST", `/jobs/${jobId}/close`);
  }

  /** Yield the waitlist in order. */
  queue(jobId: string): AsyncGenerator<models.Application> {
    return this.client.items(`/jobs/${jobId}/queue`);
  }

  pipeline(jobId: string): Promise<models.Pipeline> {
    return this.client.call("GET", `/jobs/${jobId}/pipeline`);
  }

  summary(jobId: string): Promise<models.Summary> {
    return this.client.call("GET", `/jobs/${jobId}/summary`);
  }

  /** Publish the questions that people answer when they apply. */
  publishForm(jobId: string, questions: models.QuestionIn[]): Promise<models.Form> {
    return this.client.call("POST", `/jobs/${jobId}/form`, { json: { questions } });
  }

  /** Yield the job's log after a seq. */
  events(jobId: string, afterSeq = 0): AsyncGenerator<models.Event> {
    return this.client.items(`/jobs/${jobId}/events`, { after_seq: afterSeq });
  }

  /** Verify the job's log, also against a seq and a hash that you noted earlier. */
  verify(jobId: string, noted: { seq?: number; hash?: string } = {}): Promise<models.Verdict> {
    return this.client.call("GET", `/jobs/${jobId}/verify`, { query: noted });
  }
}

/** Applications. */
export class Applications extends Resource {
  /** Yield everyone who applied to a job, the latest first. */
  list(jobId: string, filters: models.ApplicationFilters = {}): AsyncGenerator<models.Application> {
    return this.client.items(`/jobs/${jobId}/applications`, filters);
  }

  /** Return the company's application with your own id, if there is one. */
  async find(externalId: string): Promise<models.Application | null> {
    const query = { external_id: externalId };
    const found: models.Page<models.Application> = await this.client.call("GET", "/applications", { query });
    return found.data[0] ?? null;
  }

  /** Submit a person to a job of the key's company: by name and email, or by `applicant_id`. */
  submit(jobId: string, person: models.NewApplication, options: Repeatable = {}): Promise<models.Application> {
    return this.client.call("POST", `/jobs/${jobId}/applications`, { json: person, ...options });
  }

  /** Start an import of up to 10,000 people, in this order; `tasks.rows` has the results. */
  importMany(jobId: string, people: models.ImportedApplication[], options: Repeatable = {}): Promise<models.Task> {
    const json = { applications: people };
    return this.client.call("POST", `/jobs/${jobId}/applications/import`, { json, ...options });
  }

  /** Apply to a job, with an applicant's token. */
  apply(jobId: string, options: Repeatable = {}): Promise<models.Application> {
    return this.client.call("POST", `/jobs/${jobId}/applications`, { json: {}, ...options });
  }

  /** Return an application; with `"decision"` also the company's decision. */
  get(applicationId: string, expand?: "decision"): Promise<models.Application> {
    return this.client.call("GET", `/applications/${applicationId}`, { query: { expand } });
  }

  /** Attach your own `external_id` or `metadata`. Changes nothing in the line. */
  change(applicationId: string, changes: models.ApplicationChange): Promise<models.Application> {
    return this.client.call("PATCH", `/applications/${applicationId}`, { json: changes });
  }

  /** Acknowledge the offered seat, with the person's token or a portal token. */
  acknowledge(applicationId: string): Promise<models.Application> {
    return this.client.call("POST", `/applications/${applicationId}/acknowledge`);
  }

  /** Offer the person no seat until a time, with their token or a portal token; null takes it back. */
  defer(applicationId: string, notBefore: string | null): Promise<models.Application> {
    return this.client.call("POST", `/applications/${applicationId}/defer`, { json: { not_before: notBefore } });
  }

  /** Accept a seat in advance until a time, with the person's token or a portal token; null takes it back. */
  preaccept(applicationId: string, acceptUntil: string | null): Promise<models.Application> {
    return this.client.call("POST", `/applications/${applicationId}/preaccept`, { json: { accept_until: acceptUntil } });
  }

  /** Pass the offered seat, with the person's token or a portal one. */
  passOffer(applicationId: string): Promise<models.Application> {
    return this.client.call("POST", `/applications/${applicationId}/pass`);
  }

  /** Pass the next turn when it comes, or take that back. */
  passNext(applicationId: string, wanted: boolean): Promise<models.Application> {
    return this.client.call("POST", `/applications/${applicationId}/pass-next`, { json: { pass_next: wanted } });
  }

  /** All answers of an application, the last ones first, and further questions. */
  answers(applicationId: string): Promise<models.Answers> {
    return this.client.call("GET", `/applications/${applicationId}/answers`);
  }

  /** Change the answers of a person who waits, with their token or a portal one. */
  changeAnswers(applicationId: string, answers: models.AnswerSet): Promise<models.Application> {
    return this.client.call("POST", `/applications/${applicationId}/answers`, { json: { answers } });
  }

  /**
   * Upload a file, whose `id` answers a question of the job or goes to `addFiles`. An upload that no
   * application takes within an hour is removed.
   */
  async upload(jobId: string, name: string, content: Uint8Array, options: Repeatable = {}): Promise<models.File> {
    const json = { job_id: jobId, name, size_bytes: content.byteLength };
    const made: models.File = await this.client.call("POST", "/uploads", { json, ...options });
    const headers = { "Content-Type": "application/octet-stream" };
    return this.client.call("PUT", `/uploads/${made.id}/content`, { body: content, headers });
  }

  /** Add uploads to an application that waits in line. Return all its files. */
  addFiles(applicationId: string, uploadIds: string[]): Promise<models.Files> {
    return this.client.call("POST", `/applications/${applicationId}/files`, { json: { upload_ids: uploadIds } });
  }

  /** Yield the files of an application, oldest first. */
  files(applicationId: string): AsyncGenerator<models.File> {
    return this.client.items(`/applications/${applicationId}/files`);
  }

  /** Return the bytes of a file. 404 while the malware scan has not finished. */
  async download(applicationId: string, fileId: string): Promise<Uint8Array> {
    const answer = await this.client.request("GET", `/applications/${applicationId}/files/${fileId}`);
    return new Uint8Array(await answer.arrayBuffer());
  }

  /** Ask a person in review one more question. */
  ask(
    applicationId: string,
    question: models.FurtherQuestionIn,
    options: Repeatable = {},
  ): Promise<models.FurtherQuestion> {
    const path = `/applications/${applicationId}/further-questions`;
    return this.client.call("POST", path, { json: question, ...options });
  }

  /** Answer a further question, with the person's token or a portal one. */
  answerQuestion(applicationId: string, questionId: string, answer: unknown): Promise<models.FurtherQuestion> {
    const path = `/applications/${applicationId}/further-questions/${questionId}/answer`;
    return this.client.call("POST", path, { json: { answer } });
  }

  /** Withdraw a further question that is still open. */
  withdrawQuestion(applicationId: string, questionId: string): Promise<models.Answers> {
    return this.client.call("POST", `/applications/${applicationId}/further-questions/${questionId}/withdraw`);
  }

  /** The messages between the company and the applicant, newest first. */
  messages(applicationId: string): AsyncGenerator<models.Message> {
    return this.client.items(`/applications/${applicationId}/messages`);
  }

  /** Write to the applicant, who gets it by email. */
  sendMessage(applicationId: string, message: models.NewMessage, options: Repeatable = {}): Promise<models.Message> {
    return this.client.call("POST", `/applications/${applicationId}/messages`, { json: message, ...options });
  }

  /** Ask the company to look again, with the person's token or a portal token. */
  contest(applicationId: string, text: string, options: Repeatable = {}): Promise<models.Contest> {
    return this.client.call("POST", `/applications/${applicationId}/contests`, { json: { text }, ...options });
  }

  /** Answer with UPHELD or CHANGED, for a reason that fits. `text` goes to the person. */
  answerContest(
    applicationId: string,
    contestId: string,
    answer: models.ContestAnswer,
    options: Repeatable = {},
  ): Promise<models.Contest> {
    const path = `/applications/${applicationId}/contests/${contestId}/answer`;
    return this.client.call("POST", path, { json: answer, ...options });
  }

  /** Withdraw, with the person's token or a portal token. */
  withdraw(applicationId: string): Promise<models.Application> {
    return this.client.call("POST", `/applications/${applicationId}/withdraw`);
  }

  /** Decide. Any outcome frees the seat. `reason` is a code for the log, `note` free text beside it, `text` what the applicant reads. */
  remove(applicationId: string, decision: models.Decision, options: Repeatable = {}): Promise<models.Application> {
    return this.client.call("POST", `/applications/${applicationId}/remove`, { json: decision, ...options });
  }

  /** Give a person with an open offer until a later time to confirm it. */
  extend(applicationId: string, acknowledgeBy: string, options: Repeatable = {}): Promise<models.Application> {
    const json = { acknowledge_by: acknowledgeBy };
    return this.client.call("POST", `/applications/${applicationId}/extend`, { json, ...options });
  }

  /** Give a person back the place they had before their last missed deadline. */
  reinstate(applicationId: string, why: models.Reinstatement, options: Repeatable = {}): Promise<models.Application> {
    return this.client.call("POST", `/applications/${applicationId}/reinstate`, { json: why, ...options });
  }

  /** Move one person to the front of the line, and tell everyone passed. */
  moveAhead(applicationId: string, why: models.Exception, options: Repeatable = {}): Promise<models.Application> {
    return this.client.call("POST", `/applications/${applicationId}/move-ahead`, { json: why, ...options });
  }

  /** Return the marks that reviewers gave; for a key only their number, until the application has ended. */
  scores(applicationId: string): Promise<models.Scorecards> {
    return this.client.call("GET", `/applications/${applicationId}/scores`);
  }

  /** Yield an application's events, oldest first, each with a sentence. */
  timeline(applicationId: string): AsyncGenerator<models.ToldEvent> {
    return this.client.items(`/applications/${applicationId}/timeline`);
  }
}

/** People who have applied to the company. */
export class Applicants extends Resource {
  get(applicantId: string): Promise<models.Person> {
    return this.client.call("GET", `/applicants/${applicantId}`);
  }

  /** Return the company's applicant with an address, if there is one. */
  async find(email: string): Promise<models.Person | null> {
    const found: models.Page<models.Person> = await this.client.call("GET", "/applicants", { query: { email } });
    return found.data[0] ?? null;
  }

  /** Yield a person's applications, newest first. */
  applications(applicantId: string): AsyncGenerator<models.Application> {
    return this.client.items(`/applicants/${applicantId}/applications`);
  }

  /** Make a token with which your own site acts for a person, for some minutes. */
  createToken(applicantId: string, lifetimeSeconds?: number): Promise<models.PortalToken> {
    const json = lifetimeSeconds === undefined ? {} : { lifetime_seconds: lifetimeSeconds };
    return this.client.call("POST", `/applicants/${applicantId}/tokens`, { json });
  }
}

/** Where to begin in a feed, what to bring along, and whether to wait for more. */
export interface FollowOptions {
  cursor?: string;
  start?: "now";
  expand?: "application";
  waitSeconds?: number;
}

/** All events of the company's jobs, in one feed. */
export class Events extends Resource {
  /**
   * Yield pages of the feed after a cursor; from the first event without one. Save a page's
   * `next_cursor` after the work on it: then no crash loses an event. Ends where the feed ends; with
   * `waitSeconds`, waits that long and asks again, for ever. `expand: "application"` brings each
   * event's application along, as it is now. With `start: "now"` and no cursor, the first page is
   * empty: its `next_cursor` is the end.
   */
  pages(options: FollowOptions = {}): AsyncGenerator<models.FeedPage> {
    return this.follow("/events", options);
  }

  /** Yield pages of the changes that are no events, like `pages`: erasures, names, texts. */
  changes(options: FollowOptions = {}): AsyncGenerator<models.ChangesPage> {
    return this.follow("/changes", options);
  }

  private async *follow<Page extends { data: unknown[]; next_cursor: string }>(
    path: string,
    options: FollowOptions,
  ): AsyncGenerator<Page> {
    let cursor = options.cursor;
    for (;;) {
      const start = cursor === undefined ? options.start : undefined;
      const query = { cursor, start, limit: 200, expand: options.expand };
      const page: Page = await this.client.call("GET", path, { query });
      if (page.data.length > 0 || start !== undefined) {
        yield page;
      } else if (options.waitSeconds === undefined) {
        return;
      } else {
        await sleep(options.waitSeconds);
      }
      cursor = page.next_cursor;
    }
  }
}

/** Background work. */
export class Tasks extends Resource {
  start(task: models.TaskIn): Promise<models.NewTask> {
    return this.client.call("POST", "/tasks", { json: task });
  }

  get(taskId: string): Promise<models.FullTask> {
    return this.client.call("GET", `/tasks/${taskId}`);
  }

  /** Return a task once it has ended. Throws if it has not after `atMostSeconds`. */
  async wait(taskId: string, options: { everySeconds?: number; atMostSeconds?: number } = {}): Promise<models.FullTask> {
    const { everySeconds = 1, atMostSeconds = 600 } = options;
    for (let waited = 0; waited <= atMostSeconds; waited += everySeconds) {
      const task = await this.get(taskId);
      if (!["PENDING", "RUNNING", "CANCELLING"].includes(task.status)) return task;
      await sleep(everySeconds);
    }
    throw new Error(`the task ${taskId} has not ended`);
  }

  /** List what became of an import's rows: each has an application, or the reason why not. */
  rows(taskId: string): AsyncGenerator<models.ImportedRow> {
    return this.client.items(`/tasks/${taskId}/rows`);
  }
}

/** Endpoints of the company that are told of events. */
export class Webhooks extends Resource {
  list(): AsyncGenerator<models.WebhookEndpoint> {
    return this.client.items("/webhooks");
  }

  /** Return an endpoint: whether it is on, and if not, why. */
  get(webhookId: string): Promise<models.WebhookEndpoint> {
    return this.client.call("GET", `/webhooks/${webhookId}`);
  }

  /** Yield the deliveries to an endpoint, newest first. */
  deliveries(webhookId: string, filters: { state?: string; type?: string } = {}): AsyncGenerator<models.WebhookDelivery> {
    return this.client.items(`/webhooks/${webhookId}/deliveries`, filters);
  }

  /** Return a delivery with its body and its attempts. */
  delivery(webhookId: string, deliveryId: string): Promise<models.FullWebhookDelivery> {
    return this.client.call("GET", `/webhooks/${webhookId}/deliveries/${deliveryId}`);
  }

  /** Create an endpoint. Only this answer shows its secret, and a repetition for five minutes. */
  create(url: string, types: string[] = [], options: Repeatable = {}): Promise<models.NewWebhook> {
    return this.client.call("POST", "/webhooks", { json: { url, types }, ...options });
  }

  async delete(webhookId: string): Promise<void> {
    await this.client.call("DELETE", `/webhooks/${webhookId}`);
  }
}

/** Background work that starts repeatedly. */
export class Schedules extends Resource {
  list(): AsyncGenerator<models.Schedule> {
    return this.client.items("/schedules");
  }

  create(schedule: models.NewSchedule, options: Repeatable = {}): Promise<models.Schedule> {
    return this.client.call("POST", "/schedules", { json: schedule, ...options });
  }

  change(scheduleId: string, changes: models.ScheduleChange): Promise<models.Schedule> {
    return this.client.call("PATCH", `/schedules/${scheduleId}`, { json: changes });
  }

  /** Delete a schedule. Work that it has started goes on. */
  async delete(scheduleId: string): Promise<void> {
    await this.client.call("DELETE", `/schedules/${scheduleId}`);
  }
}

/** Test mode: the clock of the sandbox. Needs a key that begins with `nilk_test_`. */
export class Sandbox extends Resource {
  /** Return the time in the sandbox, and how far it is ahead. */
  clock(): Promise<models.Clock> {
    return this.client.call("GET", "/test/clock");
  }

  /** Move the clock forward: what falls due until then happens now. */
  advance(seconds: number, options: Repeatable = {}): Promise<models.ClockAdvance> {
    return this.client.call("POST", "/test/clock/advance", { json: { seconds }, ...options });
  }

  /** Put an empty sandbox in the place of that one, whose id `/companies/me` has. */
  reset(companyId: string): Promise<models.SandboxCompany> {
    return this.client.call("POST", "/test/reset", { json: { company_id: companyId } });
  }
}
