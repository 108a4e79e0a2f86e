"""What several pages show: a session, a boundary, a run's card and its losses, rules, audits, the compact panel.

Pages import parts, never the reverse.
"""
