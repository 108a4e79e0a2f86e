"""What every request passes, for any page or call: who may open what (`auth`), headers and cookies (`middleware`),
names and ids in URLs (`url_segments`, `session_urls`), and this site's own database when it is locked, full or
unreachable (`own_database`).
"""
