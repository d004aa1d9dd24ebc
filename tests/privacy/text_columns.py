"""All text columns: whether they can hold personal data, and when it is erased.

`test_registry` compares them with the database, so every new column must be classified here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Personal:
    """Column that can hold data about a person: where they can read it, and when it is erased."""

    whose: str  # applicant or staff
    shown: str  # the key in the downloaded file, or why it is not included
    ends: str  # the effect of erasing the person, or how long it is kept


_DERIVED = "not by itself: made from the name"
_ACCOUNT = "on the account page"
_PICTURE = "when it is removed; with the last team or the account"
_DEVICE = "erased; when it is removed; a member's, with their last team or their account"
_KEPT = "applications.kept_by_the_company"

PERSONAL: dict[str, Personal] = {
    "applicants_applicant.email": Personal("applicant", "account.email", "erased"),
    "applicants_applicant.name": Personal("applicant", "account.name", "erased"),
    "applicants_applicant.time_zone": Personal("applicant", "account.time_zone", "erased"),
    "applicants_applicant.language": Personal("applicant", "account.language", "erased"),
    "applicants_applicant.chosen_language": Personal(
        "applicant", "account.chosen_language", "erased"
    ),
    "applicants_device.name": Personal("applicant", "devices.name", _DEVICE),
    "applicants_device.endpoint": Personal("applicant", "devices.push_service", _DEVICE),
    "pipeline_application.name": Personal("applicant", "applications.name", "erased"),
    "pipeline_application.language": Personal("applicant", "applications.language", "erased"),
    "pipeline_attachment.name": Personal("applicant", "applications.files", "erased"),
    "pipeline_decisionnote.text": Personal(
        "applicant", "no: written by the company for itself", "erased"
    ),
    "pipeline_lineexception.text": Personal("applicant", "applications.exceptions", "erased"),
    "pipeline_applicationreference.external_id": Personal(
        "applicant", "no: written by the company for itself", "erased"
    ),
    "pipeline_applicationreference.metadata": Personal(
        "applicant", "no: written by the company for itself", "erased"
    ),
    "pipeline_givenanswers.answers": Personal("applicant", "applications.answers", "erased"),
    "pipeline_givenanswers.salt": Personal("applicant", "applications.answers", "erased"),
    "pipeline_givenanswers.digest": Personal("applicant", "applications.answers", "erased"),
    "pipeline_givenanswers.searched": Personal("applicant", "applications.answers", "erased"),
    "pipeline_furtherquestion.question": Personal(
        "applicant", "applications.further_questions", "erased"
    ),
    "pipeline_furtherquestion.answer": Personal(
        "applicant", "applications.further_questions", "erased"
    ),
    "pipeline_furtherquestion.salt": Personal(
        "applicant", "applications.further_questions", "erased"
    ),
    "pipeline_furtherquestion.digest": Personal(
        "applicant", "applications.further_questions", "erased"
    ),
    **{
        f"pipeline_applicationsource.{name}": Personal(
            "applicant", "applications.came_from", "erased"
        )
        for name in (
            "source",
            "utm_source",
            "utm_medium",
            "utm_campaign",
            "utm_term",
            "utm_content",
        )
    },
    "pipeline_equalityanswers.choices": Personal(
        "applicant", "applications.equal_opportunity", "erased"
    ),
    "pipeline_applicationmessage.text": Personal("applicant", "applications.messages", "erased"),
    "pipeline_applicationmessage.sender": Personal("applicant", "applications.messages", "erased"),
    "pipeline_applicationmessage.left_out": Personal(
        "applicant", "applications.messages", "erased"
    ),
    "pipeline_bulkmessage.text": Personal(
        "applicant", "no: each person's own text is in their messages", "when it has gone out"
    ),
    "pipeline_contest.text": Personal("applicant", "applications.asked_to_look_again", "erased"),
    "pipeline_contest.answer_text": Personal(
        "applicant", "applications.asked_to_look_again", "erased"
    ),
    "pipeline_pendingdecision.note": Personal(
        "applicant",
        "no: written by the company for itself",
        "erased; when the decision takes effect",
    ),
    "pipeline_pendingdecision.text": Personal(
        "applicant", "no: nothing is decided yet", "erased; when the decision takes effect"
    ),
    "pipeline_decisiontext.text": Personal("applicant", "applications.timeline", "erased"),
    "pipeline_letterhead.reply_address": Personal(
        "staff", "on the page *Emails*", "until an owner changes it"
    ),
    "pipeline_applicationnote.text": Personal("applicant", _KEPT, "erased"),
    "pipeline_applicationtag.word": Personal("applicant", _KEPT, "erased"),
    "pipeline_applicationlink.label": Personal("applicant", _KEPT, "erased"),
    "pipeline_applicationlink.url": Personal("applicant", _KEPT, "erased"),
    "pipeline_score.text": Personal("applicant", _KEPT, "erased"),
    "pipeline_savedview.name": Personal("applicant", "no: a member's own list", "by the member"),
    "pipeline_savedview.query": Personal("applicant", "no: a member's own list", "by the member"),
    "pipeline_nameword.word": Personal("applicant", _DERIVED, "erased, by a trigger"),
    "pipeline_importrefusal.email": Personal("applicant", "imports", "erased; 7 days"),
    "pipeline_importrefusal.external_id": Personal(
        "applicant", "no: written by the company for itself", "erased; 7 days"
    ),
    "pipeline_importrefusal.answers": Personal("applicant", "imports", "erased; 7 days"),
    "pipeline_importrefusal.name": Personal("applicant", "imports", "erased; 7 days"),
    "pipeline_storedpart.data": Personal("applicant", "imports", "erased; 7 days"),
    "pipeline_storedfile.name": Personal("applicant", "no: named by the company", "erased; 7 days"),
    "pipeline_idempotencyrecord.body": Personal(
        "applicant", "no: an answer that was already given", "erased; 24 hours"
    ),
    "tasks_task.payload": Personal("applicant", "no: ids", "an address in it is erased"),
    "tasks_task.result": Personal("applicant", "no: ids", "an address in it is erased"),
    "tasks_task.errors": Personal("applicant", "no: messages", "an address in it is erased"),
    "tasks_task.progress": Personal("applicant", "no: numbers", "an address in it is erased"),
    "tasks_task.idempotency_key": Personal(
        "applicant", "no: chosen by the company", "an address in it is erased"
    ),
    "tasks_taskevent.data": Personal("applicant", "no: ids", "an address in it is erased"),
    "tasks_taskact.data": Personal("applicant", "no: ids", "an address in it is erased"),
    "tasks_schedule.name": Personal(
        "applicant", "no: named by the company", "an address in it is erased"
    ),
    "tasks_schedule.payload": Personal("applicant", "no: ids", "an address in it is erased"),
    "pipeline_webhookattempt.response_body": Personal(
        "applicant", "no: an answer of the company's own program", "30 days"
    ),
    "pipeline_webhookattempt.response_headers": Personal(
        "applicant", "no: an answer of the company's own program", "30 days"
    ),
    "pipeline_webhookattempt.detail": Personal(
        "applicant", "no: an error of the company's own program", "30 days"
    ),
    "jobs_user.email": Personal("staff", _ACCOUNT, "kept while the account exists"),
    "jobs_user.first_name": Personal("staff", "never filled in", "kept with the account"),
    "jobs_user.last_name": Personal("staff", "never filled in", "kept with the account"),
    "jobs_user.name": Personal("staff", _ACCOUNT, "kept with the account"),
    "jobs_user.picture_digest": Personal("staff", _ACCOUNT, _PICTURE),
    "jobs_userpicture.data": Personal("staff", _ACCOUNT, _PICTURE),
    "jobs_user.language": Personal("staff", "no: only emails show it", "kept with the account"),
    "jobs_user.chosen_language": Personal(
        "staff", "on the account’s page", "kept with the account"
    ),
    "jobs_companyrequest.company_name": Personal("staff", "no: the operator's queue", "90 days"),
    "jobs_companyrequest.email": Personal("staff", "no: the operator's queue", "90 days"),
    "account_emailaddress.email": Personal("staff", _ACCOUNT, "kept with the account"),
    "mfa_authenticator.data": Personal("staff", _ACCOUNT, "until it is removed"),
    "usersessions_usersession.ip": Personal("staff", "on the sessions page", "with the session"),
    "usersessions_usersession.user_agent": Personal(
        "staff", "on the sessions page", "with the session"
    ),
    "pipeline_provisioneduser.user_name": Personal(
        "staff", "no: the provider's own name of a person", "with the account or the provider"
    ),
    "pipeline_provisioneduser.external_id": Personal(
        "staff", "no: the provider's own number of a person", "with the account or the provider"
    ),
    "pipeline_signonidentity.subject": Personal(
        "staff", "no: the provider's own number of a person", "with the account or the provider"
    ),
    "usersessions_usersession.data": Personal("staff", "empty", "with the session"),
    "django_session.session_data": Personal("staff", "no: ids, signed", "12 idle hours; 14 days"),
    "django_admin_log.object_repr": Personal("staff", "no: operators' log", "kept"),
    "django_admin_log.change_message": Personal("staff", "no: operators' log", "kept"),
    "shared_cache.value": Personal("staff", "no: counters of sign-ins", "minutes to an hour"),
    "shared_cache.cache_key": Personal("staff", "no: counters of sign-ins", "minutes to an hour"),
}

# Fingerprints and secrets, which reveal nothing.
HASHES = frozenset(
    "account_emailconfirmation.key applicants_applicanttoken.digest applicants_signincode.address"
    " applicants_device.digest applicants_device.public_key applicants_device.secret"
    " applicants_privateemail.address applicants_privateemail.sealed"
    " applicants_signincode.digest applicants_signincode.network applicants_signincode.request"
    " django_session.session_key jobs_apikey.digest jobs_apikey.hint jobs_invitation.digest"
    " pipeline_identityprovider.secret pipeline_signondomain.token"
    " pipeline_provisioningtoken.digest pipeline_provisioningtoken.hint"
    " pipeline_attachment.holder pipeline_attachment.sha256 pipeline_attachment.storage_key"
    " pipeline_careerspage.logo_digest pipeline_careerspage.domain_token"
    " pipeline_careerslogo.digest"
    " pipeline_removedobject.storage_key"
    " jobs_job.chain_head jobs_user.password pipeline_event.hash pipeline_event.prev_hash"
    " pipeline_removedlog.head pipeline_groupclaim.salt"
    " pipeline_idempotencyrecord.fingerprint pipeline_idempotencyrecord.id"
    " pipeline_portaltoken.digest pipeline_throttle.id"
    " pipeline_equalityanswers.key"
    " pipeline_visitor.digest pipeline_visitorsalt.salt"
    " pipeline_chatchannel.address pipeline_chatchannel.hint"
    " pipeline_webhookendpoint.old_secret pipeline_webhookendpoint.secret"
    " usersessions_usersession.session_key".split()
)

# Public text of a company about itself and its jobs, and names of its keys.
OF_COMPANIES = frozenset(
    "jobs_apikey.name jobs_company.name jobs_jobposting.description jobs_jobposting.location"
    " jobs_jobposting.reserved_sentence jobs_jobposting.reserved_code"
    " jobs_jobposting.title pipeline_jobreference.external_id pipeline_jobreference.metadata"
    " pipeline_jobtemplate.description pipeline_jobtemplate.location pipeline_jobtemplate.name"
    " pipeline_jobtemplate.title jobs_company.working_hours"
    " pipeline_companytext.parts pipeline_letterhead.sender_name"
    " jobs_jobposting.department pipeline_jobtemplate.department"
    " pipeline_careerspage.domain pipeline_careerspage.embed_origins pipeline_careerspage.slug"
    " pipeline_careerspage.introduction pipeline_careersslug.slug pipeline_careerslogo.data"
    " jobs_company.legal_name jobs_company.privacy_contact pipeline_consentversion.text"
    " pipeline_messagetemplate.name pipeline_messagetemplate.text"
    " pipeline_identityprovider.name pipeline_identityprovider.issuer"
    " pipeline_identityprovider.client_id pipeline_identityprovider.groups_claim"
    " pipeline_signondomain.domain pipeline_grouprole.group"
    " pipeline_provisionedgroup.name pipeline_provisionedgroup.external_id"
    " pipeline_criterion.label pipeline_criterion.help"
    " pipeline_chatchannel.name"
    " pipeline_webhookendpoint.description"
    " pipeline_webhookendpoint.url".split()
)

# Ids, codes, numbers and our own names.
CODES = frozenset(
    "applicants_device.site_key applicants_devicenotice.state"
    " auth_group.name auth_permission.codename auth_permission.name django_admin_log.object_id"
    " django_content_type.app_label django_content_type.model django_migrations.app"
    " django_migrations.name jobs_apikey.scopes jobs_apikey.job_ids"
    " jobs_job.status jobs_job.reserved_for"
    " pipeline_groupclaim.state pipeline_groupclaim.kind pipeline_lineexception.reason"
    " jobs_job.quiet_from"
    " jobs_job.quiet_to jobs_job.quiet_time_zone jobs_membership.role"
    " jobs_jobmember.role jobs_invitation.role jobs_invitation.job_role jobs_activity.kind"
    " jobs_activity.about"
    " pipeline_identityprovider.usual_role pipeline_signondomain.problem"
    " pipeline_grouprole.role pipeline_grouprole.job_role"
    " jobs_membership.reviews pipeline_jobfollower.telling pipeline_reviewnotice.kind"
    " pipeline_attachment.content_type pipeline_attachment.state"
    " mfa_authenticator.type pipeline_application.outcome pipeline_application.status"
    " pipeline_formdraft.questions pipeline_formversion.questions pipeline_formrefusals.key"
    " pipeline_jobtemplate.questions pipeline_importrefusal.detail"
    " pipeline_companytext.kind pipeline_companytext.language"
    " jobs_jobposting.employment_type jobs_jobposting.workplace jobs_jobposting.country"
    " jobs_jobposting.language jobs_jobposting.pay_currency jobs_jobposting.pay_period"
    " pipeline_jobtemplate.employment_type pipeline_jobtemplate.workplace"
    " pipeline_jobtemplate.country pipeline_jobtemplate.language"
    " pipeline_jobtemplate.pay_currency pipeline_jobtemplate.pay_period"
    " pipeline_careerspage.colour pipeline_careerspage.domain_problem"
    " pipeline_consentversion.kind jobs_company.shown_consents jobs_company.equality_questions"
    " pipeline_equalitytotals.counts"
    " pipeline_change.kind pipeline_contest.answer pipeline_contest.reason"
    " pipeline_applicationmessage.email_message_id pipeline_applicationmessage.email_problem"
    " pipeline_applicationmessage.email_state pipeline_applicationmessage.side"
    " pipeline_applicationmessage.unproved pipeline_applicationmessage.way"
    " pipeline_bulkmessage.stage pipeline_bulkmessageitem.state"
    " pipeline_decisionitem.problem pipeline_decisionitem.state"
    " pipeline_email.kind pipeline_email.message_id pipeline_email.problem pipeline_email.state"
    " pipeline_event.actor_kind pipeline_event.data pipeline_event.event pipeline_event.from_status"
    " pipeline_event.outcome pipeline_event.to_status pipeline_heartbeat.worker"
    " pipeline_receiptkey.id pipeline_receiptkey.public_key"
    " pipeline_webserver.name pipeline_webserver.version"
    " pipeline_jobforecast.positions pipeline_jobtemplate.rules pipeline_jobviews.source"
    " pipeline_pendingdecision.outcome pipeline_pendingdecision.reason"
    " pipeline_idempotencyrecord.headers pipeline_importrefusal.reason pipeline_importrun.ending"
    " pipeline_importrun.columns pipeline_importrun.trouble"
    " pipeline_importrun.admitted_seqs pipeline_producer.types"
    " pipeline_webhookendpoint.rotation_ids"
    " pipeline_requestrecord.method"
    " pipeline_requestrecord.path pipeline_requestrecord.request_id"
    " pipeline_storedfile.content_type"
    " pipeline_plannedseats.zone pipeline_storedfile.purpose pipeline_weeklyreport.figures"
    " pipeline_weeklyreport.zone"
    " pipeline_chatchannel.cards pipeline_chatchannel.language pipeline_chatchannel.off_reason"
    " pipeline_chatchannel.service pipeline_chatmessage.about pipeline_chatmessage.card"
    " pipeline_chatmessage.last_error pipeline_chatmessage.source pipeline_chatmessage.state"
    " pipeline_webhookattempt.error pipeline_webhookattempt.request_headers"
    " pipeline_webhookdelivery.body pipeline_webhookdelivery.last_error"
    " pipeline_webhookdelivery.source pipeline_webhookdelivery.state pipeline_webhookdelivery.type"
    " pipeline_webhookendpoint.off_reason pipeline_webhookendpoint.types"
    " tasks_schedule.cron tasks_schedule.problem tasks_schedule.type_key tasks_schedule.zone"
    " tasks_task.producer tasks_task.queue tasks_task.request_id tasks_task.status tasks_task.trace"
    " tasks_task.worker tasks_taskact.actor tasks_taskact.target tasks_taskact.what"
    " tasks_taskevent.actor tasks_taskevent.kind tasks_taskownerbreaker.breaker"
    " tasks_taskpause.actor tasks_tasktype.breaker tasks_tasktype.key tasks_tasktype.paused_by"
    " tasks_tasktype.queue tasks_tasktype.schema tasks_taskworker.name tasks_taskworker.queues"
    " tasks_taskworker.types".split()
)
