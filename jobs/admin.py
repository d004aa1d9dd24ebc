"""Back office of companies, accounts, keys and jobs."""

from __future__ import annotations

from typing import Any, ClassVar

from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from applicants.addresses import checked_address
from jobs.errors import RequestDecided
from jobs.models import ApiKey, Company, CompanyRequest, Job, Membership, User
from jobs.sign_up import decide_request
from tasks import readonly_admin
from tasks.readonly_admin import ReadonlyAdmin, ReadonlyAdminPaginator

# Use the staff sign-in, which also asks for a second step.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]  # allauth's way
admin.site.site_header = admin.site.site_title = gettext_lazy("Next in Line: back office")
admin.site.index_title = gettext_lazy("All tables")
admin.site.unregister(Group)
admin.site.unregister(Authenticator)
admin.site.unregister(EmailAddress)


class NewUserAdminForm(AdminUserCreationForm):
    """Form for a new account, identified by its email address."""

    class Meta:
        model = User
        fields = ("email",)

    def clean_email(self) -> str:
        """Return the address in its normal spelling. Refuse one that has an account."""
        email = checked_address(self.cleaned_data["email"])
        if User.objects.filter(email=email).exists():
            raise ValidationError(_("Another account has this address."))
        return email


@admin.register(User)
class StaffAccountAdmin(UserAdmin):
    """Staff accounts. To close one, clear "active" rather than delete it: logs may refer to it."""

    add_form = NewUserAdminForm
    paginator = ReadonlyAdminPaginator
    show_full_result_count = False
    ordering = ("-id",)
    sortable_by: ClassVar[tuple[str, ...]] = ()
    list_display = ("email", "name", "is_active", "is_staff", "is_superuser", "last_login")
    list_filter = ()
    search_fields = ("email",)
    search_help_text = gettext_lazy("The beginning of an address, or an id")
    readonly_fields = ("id", "email", "last_login", "date_joined")
    filter_horizontal = ("user_permissions",)
    fieldsets = (
        (None, {"fields": ("id", "email", "password")}),
        (pgettext_lazy("label", "Rights"), {"fields": ("is_active", "is_staff", "is_superuser")}),
        (pgettext_lazy("label", "Times"), {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "usable_password", "password1", "password2")}),)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Refuse filters in the URL, as `ReadonlyAdmin` does."""
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Make an existing address read-only: only its owner can prove a new one."""
        fields = self.readonly_fields
        return fields if obj else tuple(name for name in fields if name != "email")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse to delete accounts: a company could lose its owner."""
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find accounts by the beginning of the address, or by id."""
        return readonly_admin.search(queryset, search_term, ("id",), ("email",)), False


@admin.register(Company)
class CompanyAdmin(ReadonlyAdmin):
    """Companies. Only the name can be changed."""

    list_display = ("name", "id", "created_at")
    ordering = ("-id",)
    readonly_fields = ("id", "created_at")
    search_help_text = gettext_lazy("An id")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow changes by Django's permissions."""
        return admin.ModelAdmin.has_change_permission(self, request, obj)


@admin.register(CompanyRequest)
class CompanyRequestAdmin(ReadonlyAdmin):
    """Requests for a company. The person is told by email how one was decided."""

    list_display = ("company_name", "email", "asked_at", "is_approved", "decided_at")
    ordering = ("-id",)
    beginnings = ("email",)
    search_help_text = gettext_lazy("The beginning of an address, or an id")
    actions = ("approve", "refuse")

    def has_decide_permission(self, request: HttpRequest) -> bool:
        """Allow decisions by Django's permissions."""
        return request.user.has_perm("jobs.change_companyrequest")

    @admin.action(description=gettext_lazy("Approve: create the company"), permissions=["decide"])
    def approve(self, request: HttpRequest, asked: QuerySet[CompanyRequest]) -> None:
        """Approve the ticked requests."""
        self._decide(request, asked, approve=True)

    @admin.action(description=pgettext_lazy("act", "Refuse"), permissions=["decide"])
    def refuse(self, request: HttpRequest, asked: QuerySet[CompanyRequest]) -> None:
        """Refuse the ticked requests."""
        self._decide(request, asked, approve=False)

    def _decide(
        self, request: HttpRequest, asked: QuerySet[CompanyRequest], *, approve: bool
    ) -> None:
        done = (
            _("%(request)s is approved. %(address)s is told by email.")
            if approve
            else _("%(request)s is refused. %(address)s is told by email.")
        )
        for each in asked:
            try:
                decide_request(request_id=each.id, approve=approve)
            except RequestDecided:
                said = _("%(request)s was decided otherwise before. Nothing was changed.")
                self.message_user(request, said % {"request": each}, messages.ERROR)
            else:
                said = done % {"request": each, "address": each.email}
                self.message_user(request, said, messages.SUCCESS)


@admin.register(Membership)
class MembershipAdmin(ReadonlyAdmin):
    """Members of teams. Members can only be added here, for a company that lost its owner."""

    list_display = ("company", "user", "role")
    list_select_related = ("company", "user")
    raw_id_fields = ("company", "user")
    ordering = ("-id",)
    ids = ("company_id", "user_id")
    beginnings = ("user__email",)
    search_help_text = gettext_lazy(
        "The beginning of an address, or the id of a company or an account"
    )

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow additions by Django's permissions."""
        return admin.ModelAdmin.has_add_permission(self, request)


@admin.register(ApiKey)
class ApiKeyAdmin(ReadonlyAdmin):
    """API keys, without anything that would help to guess them."""

    list_display = ("name", "hint", "company", "created_at", "last_used_at", "revoked_at")
    list_select_related = ("company",)
    ordering = ("-id",)
    fields = ("id", "company", "name", "hint", "scopes", "created_at", "last_used_at", "revoked_at")
    ids = ("id", "company_id")
    search_help_text = gettext_lazy("The id of a key or a company")


@admin.register(Job)
class JobAdmin(ReadonlyAdmin):
    """Hot rows of jobs."""

    list_display = ("id", "title", "company", "status", "capacity", "waitlist_count", "seq")
    list_select_related = ("company", "posting")
    ordering = ("-id",)
    readonly_fields = ("head",)
    ids = ("id", "company_id")
    search_help_text = gettext_lazy("The id of a job or a company")
    head = readonly_admin.hex_column("chain_head", gettext_lazy("Head of the log"))

    def title(self, job: Job) -> str:
        """Return the job's title."""
        return job.posting.title


@admin.register(EmailAddress)
class EmailAddressAdmin(ReadonlyAdmin):
    """Email addresses of accounts, and whether they are verified."""

    list_display = ("email", "user", "primary", "verified")
    list_select_related = ("user",)
    ordering = ("-id",)
    ids = ("user_id",)
    beginnings = ("user__email",)
    search_help_text = gettext_lazy("The beginning of an address, or the id of an account")


@admin.register(Authenticator)
class StaffAuthenticatorAdmin(ReadonlyAdmin):
    """Passkeys and authenticator apps of accounts, without their secrets."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_select_related = ("user",)
    fields = ("user", "type", "created_at", "last_used_at")
    ordering = ("-id",)
    ids = ("user_id",)
    beginnings = ("user__email",)
    search_help_text = gettext_lazy("The beginning of an address, or the id of an account")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow deletion by Django's permissions, for people without app, passkey and codes."""
        return admin.ModelAdmin.has_delete_permission(self, request, obj)
