"""What every kind of store must do, on values alone: the suite asks the site through its JSON API (`store_api`), and
the agent through `agents`. Only those know how a kind keeps its sessions.
"""
