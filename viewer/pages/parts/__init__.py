"""What several pages show: a session, a boundary, a run's card and what it loses, rules, audits, the compact panel.

Pages import parts, never the other way round.
"""
