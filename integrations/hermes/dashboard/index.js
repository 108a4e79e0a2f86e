/** The tab of Palimpsest in Hermes' dashboard: sessions that need compaction, each with a link to its page. */
(() => {
  const { React, components, fetchJSON, utils } = window.__HERMES_PLUGIN_SDK__;
  const { Badge, Card, CardContent, CardHeader, CardTitle } = components;
  const h = React.createElement;
  const QUIET = "text-sm text-text-secondary";

  function Attention() {
    const [answer, setAnswer] = React.useState(null);
    React.useEffect(() => {
      fetchJSON("/api/plugins/palimpsest/attention").then(setAnswer, () => setAnswer({}));
    }, []);
    return h(
      Card,
      null,
      h(CardHeader, null, h(CardTitle, null, "Sessions that need compaction")),
      h(CardContent, { className: "grid gap-3" }, ...lines(answer)),
    );
  }

  function lines(answer) {
    if (answer === null) return [h("p", { className: QUIET }, "Loading…")];
    if (!answer.sessions) return [h("p", { className: QUIET }, "Palimpsest does not answer. Start it, then load this page again.")];
    const sessions = answer.sessions.map(line);
    return [
      ...(sessions.length ? sessions : [h("p", { className: QUIET }, "None. All sessions have room.")]),
      h("p", { className: QUIET }, link(answer.address, "All sessions in Palimpsest")),
    ];
  }

  function line({ address, name, tokens, window: size, last_active }) {
    const share = size ? `${Math.round((tokens / size) * 100)} %` : `${tokens.toLocaleString("en")} tokens`;
    return h(
      "div",
      { className: "flex flex-wrap items-center gap-3", key: address },
      h(Badge, null, share),
      link(address, name),
      h("span", { className: QUIET }, utils.isoTimeAgo(last_active)),
    );
  }

  function link(address, text) {
    return h("a", { href: address, target: "_blank", rel: "noreferrer", className: "underline" }, text);
  }

  window.__HERMES_PLUGINS__.register("palimpsest", Attention);
})();
