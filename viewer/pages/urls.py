"""URLs of the pages."""

from django.urls import path

import viewer.web.url_segments  # noqa: F401  # registers <name:…>

from . import preferences
from .about import views as about
from .boundary import before_after, branch, share, startup_audit, undo
from .boundary import views as boundary
from .compact import candidate, lost, runs, shortened
from .compact import views as compact
from .compactions import views as compactions
from .insights import views as insights
from .palette import views as palette
from .search import totals
from .search import views as search
from .session import abandoned, colours, contents, context, export, find, keeping, live, practice, rows, timeline, work
from .session import views as session
from .sessions import bulk_actions, rename
from .sessions import views as sessions
from .settings import inside
from .settings import views as settings
from .stores import views as stores

app_name = "pages"
_SESSION = "stores/<name:store>/sessions/<name:session_id>"

urlpatterns = [
    path("", sessions.sessions, name="sessions"),
    path("search", search.messages, name="search"),
    path("search/total", totals.total, name="search_total"),
    path("search/facets", totals.facets, name="search_facets"),
    path("palette", palette.palette, name="palette"),
    path("archive", bulk_actions.archive, name="archive"),
    path("views", sessions.save, name="save_view"),
    path("compact", bulk_actions.compact, name="compact_many"),
    path("export", bulk_actions.export, name="export_many"),
    path("stores", stores.stores, name="stores"),
    path("stores/<name:store>", stores.listed, name="store"),
    path("stores/<name:store>/sessions", stores.listed, name="store_sessions"),
    path("stores/<name:store>/index", stores.index, name="index"),
    path("compactions", compactions.compactions, name="compactions"),
    path("insights", insights.insights, name="insights"),
    path("settings", settings.settings, name="settings"),
    path("settings/tokens", settings.make_token, name="tokens"),
    path("settings/tokens/<int:token_id>/revoke", settings.revoke_token, name="revoke"),
    path("settings/inside/<name:store>", inside.door, name="inside"),
    path("settings/inside/<name:store>/change", inside.change, name="change_inside"),
    path("settings/<str:provider>", settings.change, name="change"),
    path("settings/compaction/<name:store>", settings.change_compaction, name="change_compaction"),
    path("settings/rules/<name:store>", settings.change_rules, name="change_rules"),
    path("about", about.about, name="about"),
    path("demo", preferences.switch_demo, name="demo"),
    path("redact", preferences.switch_redaction, name="redact"),
    path("theme", preferences.switch_theme, name="theme"),
    path("runs/<int:run_id>", runs.run, name="run"),
    path("runs/<int:run_id>/apply", runs.apply, name="apply"),
    path("runs/<int:run_id>/draft", runs.draft, name="draft"),
    path("runs/<int:run_id>/count", runs.count, name="count"),
    path("runs/<int:run_id>/goes", candidate.goes, name="goes"),
    path("runs/<int:run_id>/stays", candidate.stays, name="stays"),
    path("runs/<int:run_id>/lost", lost.lost, name="lost"),
    path("runs/<int:run_id>/shortened", shortened.shortened, name="shortened"),
    path("runs/<int:run_id>/discard", runs.discard, name="discard"),
    path("runs/<int:run_id>/redo", runs.redo, name="redo"),
    path("runs/<int:run_id>/cancel", runs.cancel, name="cancel"),
    path(_SESSION, session.session, name="session"),
    path(f"{_SESSION}/rename", rename.rename, name="rename"),
    path(f"{_SESSION}/context", context.context, name="context"),
    path(f"{_SESSION}/abandoned", abandoned.abandoned, name="abandoned"),
    path(f"{_SESSION}/context/prompt", rows.prompt, name="prompt"),
    path(f"{_SESSION}/contents", contents.part, name="contents"),
    path(f"{_SESSION}/files", work.files, name="files"),
    path(f"{_SESSION}/failures", work.failures, name="failures"),
    path(f"{_SESSION}/find", find.find, name="find"),
    path(f"{_SESSION}/rows", rows.rows, name="rows"),
    path(f"{_SESSION}/messages/<int:row_id>", rows.whole, name="whole"),
    path(f"{_SESSION}/messages/<int:row_id>/keep", keeping.keep, name="keep"),
    path(f"{_SESSION}/pins", keeping.pinned, name="pins"),
    path(f"{_SESSION}/messages/<int:row_id>/colours", colours.colours, name="colours"),
    path(f"{_SESSION}/export", export.export, name="export"),
    path(f"{_SESSION}/live", live.live, name="live"),
    path(f"{_SESSION}/timeline", timeline.timeline, name="timeline"),
    path(f"{_SESSION}/plan", compact.plan, name="plan"),
    path(f"{_SESSION}/compact", compact.start, name="compact"),
    path(f"{_SESSION}/practise", practice.practise, name="practise"),
    path(f"{_SESSION}/branch", branch.branch, name="branch"),
    path(f"{_SESSION}/boundaries/<int:handoff_id>/summarised", boundary.summarised, name="summarised"),
    path(f"{_SESSION}/boundaries/<int:handoff_id>/kept", boundary.kept, name="kept"),
    path(f"{_SESSION}/boundaries/<int:handoff_id>/details", boundary.details, name="details"),
    path(f"{_SESSION}/boundaries/<int:handoff_id>/update", boundary.update, name="update"),
    path(f"{_SESSION}/boundaries/<int:handoff_id>/reading", startup_audit.reading, name="reading"),
    path(f"{_SESSION}/boundaries/<int:handoff_id>/before-after", before_after.before_after, name="before_after"),
    path(f"{_SESSION}/boundaries/<int:handoff_id>/share", share.share, name="share"),
    path(f"{_SESSION}/boundaries/<int:handoff_id>/share/card", share.share_card, name="share_card"),
    path(f"{_SESSION}/boundaries/<int:handoff_id>/undo", undo.undo, name="undo"),
    path(f"{_SESSION}/boundaries/<int:handoff_id>/branch", branch.branch, name="branch_before"),
]
