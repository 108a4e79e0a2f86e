"""The options of a compaction, the budgets that follow from them, and fixed sizes."""

from __future__ import annotations

from dataclasses import dataclass

from .handoff import FORMS, Form

# --- sizes, shares and prices that several modules measure by, each with its unit and source --------------------------
IMAGE_TOKENS = 1_600  # flat price of one image: what Hermes and Anthropic's documentation assume for a large one
MESSAGE_TOKENS = 4  # role and separators of one chat message (OpenAI cookbook: 3, and 1 for the role)
MIN_SUMMARY_TOKENS = 2_000
MAX_SUMMARY_TOKENS = 12_000
MAX_SUMMARY_SHARE = 0.05  # of the context window
SMALLEST_BODY_TOKENS = 16  # less room than this is not worth a heading
SHORT_SUMMARY_TOKENS = 64  # a middle that leaves less than this for a summary is not worth a handoff
SMALLEST_WIN = 0.1  # of a context: a compaction that wins less is not offered
SOFT_CEILING = 1.5  # x tail budget
CHARACTERS_A_TOKEN = 8  # that text rarely exceeds; so much of a long one is counted to see whether it has n tokens
FEWEST_TAIL = 3
MOST_TAIL_FLOOR = 8
OUTPUT_CHARS, ARGUMENTS_CHARS = 4_000, 2_000  # of a tool's output and arguments in a digest; a longer middle is cut out
REPEATED_CHARS = 200  # from this length on, output that was shown already is named by its message
PRUNED_CHARS = 240  # output and arguments up to this length stay as they are
ARGUMENT_CHARS = 120  # that stay of a longer argument
PROMPT_TOKENS = 1_500  # of a summariser's window, for everything in a request but material, focus and earlier summary
LONGEST_SUMMARY = 1.5  # x the budget asked for: a longer answer is refused
BUDGET_SHARE = 0.2  # of a summariser's window: a summary is asked for, carried and answered within it
SMALLEST_CHUNK_TOKENS = 64  # a window that leaves less for each part of the transcript is refused


@dataclass(frozen=True, slots=True)
class Policy:
    """How much to keep and how long a summary may be.

    `context_window` is in tokens; `threshold` is the share of it at which agents compact; `target_ratio` (clamped to
    0.10..0.80) is the share of that threshold for the tail; `protect_first_n` counts the system prompt; `keep_last`
    is a person's "keep at least the last N messages"; `rules` are the workspace's rules that are appended to the
    summary, as `handoff.rules_block` takes them; `pinned` are texts of messages, each behind its author and a
    colon, that follow the summary word for word unless they stay in the context anyway. `recall` says that the
    agent has a tool for what a summary leaves out, which the summary then names. `tail_only` is for agents that put
    a summary before an unbroken end of the conversation: nothing stays before the handoff, and what stays is
    unchanged. `can_prune` says that the agent allows shorter tool output. `summary_tokens` is the maximum of a
    summary, None to derive it from the window. `handoff` is the form of the summary in the context: "plain", or
    "hermes" with the header, the key and the note in the system prompt by which Hermes Agent recognises it.
    Raises ValueError for invalid values.
    """

    context_window: int = 200_000
    threshold: float = 0.50
    target_ratio: float = 0.20
    protect_first_n: int = 3
    protect_last_n: int = 20
    summary_ratio: float = 0.20
    focus: str = ""
    keep_last: int | None = None
    rules: str = ""
    pinned: tuple[str, ...] = ()
    recall: bool = False
    tail_only: bool = False
    can_prune: bool = True
    summary_tokens: int | None = None
    handoff: Form = "plain"

    def __post_init__(self) -> None:
        object.__setattr__(self, "target_ratio", min(max(self.target_ratio, 0.10), 0.80))
        for name in ("context_window", "threshold", "summary_ratio"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0")
        if self.summary_tokens is not None and self.summary_tokens < 1:
            raise ValueError("summary_tokens must be above 0")
        if self.handoff not in FORMS:
            raise ValueError(f"handoff must be one of {', '.join(FORMS)}")
        for name in ("protect_first_n", "protect_last_n", "keep_last"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"{name} must not be negative")

    @property
    def tail_budget(self) -> int:
        """Tokens for the recent messages."""
        return int(self.context_window * self.threshold * self.target_ratio)

    @property
    def soft_ceiling(self) -> int:
        """Tokens to which the tail may grow if a rule needs more than the budget."""
        return int(self.tail_budget * SOFT_CEILING)

    @property
    def small_message(self) -> int:
        """Tokens up to which a recent message is small: eight of them take at most half of the tail budget."""
        return self.tail_budget // (2 * MOST_TAIL_FLOOR)

    @property
    def enough(self) -> int:
        """Tokens below which a context needs no compaction: the threshold at which agents compact."""
        return int(self.context_window * self.threshold)

    @property
    def full_tail_from(self) -> int:
        """Tokens of a context from which the recent messages get the whole tail budget."""
        return self.soft_ceiling + max(self.tail_budget - int(self.soft_ceiling * self.target_ratio), 0)

    def tail_budget_of(self, tokens: int) -> int:
        """Tokens for the recent messages of a context of `tokens`, so that a small context is cut usefully too.

        `target_ratio` of the tokens up to the soft ceiling, and every token above it, up to `tail_budget`.
        """
        inside = min(tokens, self.soft_ceiling)
        return min(self.tail_budget, int(inside * self.target_ratio) + tokens - inside)

    @property
    def fewest_tail(self) -> int:
        """Messages that the tail keeps beyond its budget if they fit the soft ceiling or are small:
        max(3, min(n, 8)).
        """
        return max(FEWEST_TAIL, min(self.protect_last_n, MOST_TAIL_FLOOR))

    @property
    def most_summary(self) -> int:
        """The maximum tokens of a summary."""
        if self.summary_tokens is not None:
            return self.summary_tokens
        return min(int(self.context_window * MAX_SUMMARY_SHARE), MAX_SUMMARY_TOKENS)

    def summary_limit(self, middle_tokens: int) -> int:
        """The maximum tokens of a summary of `middle_tokens`: the ratio, within 2,000..min(5 % of
        the window, 12,000).
        """
        return min(max(int(middle_tokens * self.summary_ratio), MIN_SUMMARY_TOKENS), self.most_summary)
