// One call of a gateway: `node call.mjs PORT TOKEN METHOD PARAMETERS`. Prints the answer as JSON.
const [port, token, method, given] = process.argv.slice(2);
const socket = new WebSocket(`ws://127.0.0.1:${port}`);
const send = (id, what, params) => socket.send(JSON.stringify({ type: "req", id, method: what, params }));
const client = { id: "gateway-client", version: "1.0.0", platform: "linux", mode: "backend" };
const scopes = ["operator.admin", "operator.read", "operator.write"];
socket.onmessage = ({ data }) => {
  const told = JSON.parse(data);
  if (told.event === "connect.challenge")
    send("connect", "connect", { minProtocol: 4, maxProtocol: 4, client, role: "operator", scopes, auth: { token } });
  if (told.type !== "res") return;
  if (told.ok && told.id === "connect") return send("call", method, JSON.parse(given));
  process.stdout.write(JSON.stringify(told.ok ? told.payload : told), () => process.exit(told.ok ? 0 : 1));
};
