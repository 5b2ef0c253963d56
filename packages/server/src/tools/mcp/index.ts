/** MCP servers as tools. */
export { openConversationMcp, type ConversationMcp } from './conversation-mcp.ts'
export { expandServer } from './placeholders.ts'
export { openMcpPool } from './pool.ts'
export { openTryServer, type TryServer } from './try-server.ts'
export { openToolbox } from './toolbox.ts'
