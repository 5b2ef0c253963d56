/** MCP servers as tools, for the door of this room. */
export { identityOf } from './endpoint.ts'
export { expandServer, namesIn } from './placeholders.ts'
export { MCP_LIMITS, openMcpPool, type Home, type McpPool } from './pool.ts'
export { openToolbox } from './toolbox.ts'
