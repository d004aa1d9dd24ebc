"""URLs of careers pages."""

from django.urls import path

from pipeline.pages.careers import public, settings

urlpatterns = [
    path("c/<slug:slug>/", public.show, name="careers"),
    path("c/<slug:slug>/jobs.xml", public.show_feed, name="careers_feed"),
    path("c/<slug:slug>/embed/", public.show_embedded_list, name="careers_embed"),
    path(
        "c/<slug:slug>/embed/jobs/<uuid:job_id>/",
        public.show_embedded_form,
        name="careers_embedded_form",
    ),
    path("c/logos/<uuid:company_id>/<slug:digest>.png", public.show_logo, name="careers_logo"),
    path("c/colours/<slug:colour>.css", public.show_colours, name="careers_colours"),
    path("jobs.xml", public.show_feed, name="site_feed"),
    path("jobs/<uuid:job_id>/picture-<slug:version>.png", public.show_picture, name="job_picture"),
    path("company/careers/", settings.show, name="careers_settings"),
    path("company/careers/preview/", settings.preview, name="careers_preview"),
    path("company/careers/logo/", settings.change_logo, name="careers_logo_settings"),
    path("company/careers/domain/", settings.change_domain, name="careers_domain"),
]
