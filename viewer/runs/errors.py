"""What a run refuses beyond what its store does, in the same shape: a stable `code` and a sentence for people."""

from __future__ import annotations

from viewer.stores.errors import SessionBusy, StoreError


class NothingToDo(StoreError):
    """The rules leave no message that a summary could replace."""

    code = "nothing_to_compact"


class UnknownChoice(StoreError):
    """A strategy or summariser of this name does not exist."""

    code = "unknown_choice"
    status = 422


class ModelNotSetUp(StoreError):
    """A summariser that asks a model, and none is set up for it."""

    code = "model_not_set_up"


class BadSummary(StoreError):
    """The summary (edited, or as it came from the summariser) cannot be used; the message says why."""

    code = "summary_rejected"
    status = 422


class ModelFailed(StoreError):
    """The model gave no summary; each has its own `code` (docs/models.md).

    `passing`: asking again may help, `after` so many seconds if the service says when.
    """

    def __init__(self, code: str, message: str, *, passing: bool = False, after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.passing = passing
        self.after = after


class NothingToEdit(StoreError):
    """The run's strategy makes no summary, so none can be put in its place."""

    code = "nothing_to_edit"
    status = 422


class AlreadyOpen(SessionBusy):
    """Another run of this site is at work on the session."""

    def __init__(self, message: str, run: int) -> None:
        super().__init__(message)
        self.run = run


class WrongStatus(StoreError):
    """The run is not in a status in which this can be done."""

    code = "wrong_status"
