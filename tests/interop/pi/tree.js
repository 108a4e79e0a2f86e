// A command for what people do with /tree: `/go-to {"id": ..., "summarize": true}`; another one notes something that
// an extension of theirs would say to the model, and something that it keeps for itself.
export default function (pi) {
  pi.registerCommand("go-to", {
    description: "Go to another place in the session's tree",
    handler: async (args, ctx) => {
      const { id, ...options } = JSON.parse(args);
      await ctx.navigateTree(id, options);
    },
  });
  pi.registerCommand("note", {
    description: "Say something as an extension does",
    handler: async (args) => {
      pi.appendEntry("tests.note", { note: args });
      pi.sendMessage({ customType: "tests.note", content: args, display: true });
    },
  });
}
