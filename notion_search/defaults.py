"""What the help names and the walk keeps to."""

MODEL = "claude-haiku-4-5"
# The reranker reads every candidate in one prompt; thirty keep it near 4,000 tokens.
CANDIDATE_CAP = 30
