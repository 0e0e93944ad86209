// Two tools of the kind that packages for pi bring along: they accept a list, and remember nothing.
const tool = (name) => ({
  name,
  label: name,
  description: "Keep a list of things to do.",
  parameters: { type: "object", properties: {}, additionalProperties: true },
  execute: async () => ({ content: [{ type: "text", text: "noted" }], details: {} }),
});

export default (pi) => {
  pi.registerTool(tool("write_todos"));
  pi.registerTool(tool("edit_todos"));
};
