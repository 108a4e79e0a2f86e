"""Every size, share and price the engine measures by, each with its unit and source."""

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
