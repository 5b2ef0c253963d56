export { builtInTypes, currentTypeName } from './built-in.ts'
export { delegateTool, MAX_DELEGATES } from './delegate-tool.ts'
export type { DelegateRequest, SpawnRequest, SubAgentEnd, SubAgents, SubAgentType, TaskRequest } from './sub-agents.ts'
export { taskTool } from './task-tool.ts'
