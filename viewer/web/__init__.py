"""What every request passes, whichever page or call it is for: who may open what (`auth`), headers and cookies
(`middleware`), names and ids as parts of an address (`url_segments`, `session_urls`), and this site's own database
where it is locked, full or away (`own_database`).
"""
