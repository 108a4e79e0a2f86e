"""Why a run is refused, besides the refusals of its store: a stable `code` and a sentence for people."""

from __future__ import annotations

from viewer.stores.errors import SessionBusy, StoreError


class NothingToDo(StoreError):
    """The rules leave no message that a summary could replace."""

    code = "nothing_to_compact"


class UnknownChoice(StoreError):
    """There is no such strategy, summariser, mode or number of messages."""

    code = "unknown_choice"
    status = 422


class ModelNotSetUp(StoreError):
    """The summariser calls a model, and no model is set up for it."""

    code = "model_not_set_up"


class BadSummary(StoreError):
    """The summary (edited, or from the summariser) cannot be used; the message says why."""

    code = "summary_rejected"
    status = 422


class ModelFailed(StoreError):
    """The model returned no summary. `code` says why (docs/models.md).

    `passing`: another request may succeed. `after`: seconds to wait first, if the service gives them.
    """

    def __init__(self, code: str, message: str, *, passing: bool = False, after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.passing = passing
        self.after = after


class NothingToEdit(StoreError):
    """The run's strategy makes no summary, so there is none to replace."""

    code = "nothing_to_edit"
    status = 422


class AlreadyOpen(SessionBusy):
    """Another run of this site is compacting the session; `run` is its id."""

    def __init__(self, message: str, run: int) -> None:
        super().__init__(message)
        self.run = run


class WrongStatus(StoreError):
    """The run's status does not allow this."""

    code = "wrong_status"
