/** MCP servers as tools. */
export { openConversationMcp, type ConversationMcp } from './conversation-mcp.ts'
export { expandServer } from './placeholders.ts'
export { openMcpPool } from './pool.ts'
export { openToolbox } from './toolbox.ts'
