/** Tools of agents: definitions, registry, locks, MCP servers. */
export type { Recovery, Tool, ToolContext } from './tool.ts'
export { showsText } from './file-editor/view.ts'
export { taskListText } from './task-tracker-tool.ts'
export type { ClientCalls, ClientResult } from './client-calls.ts'
export type { ToolServices } from './services.ts'
export type { SkillService } from './skill-service.ts'
export type { InspectionResult, ModelService, VisionService } from './models/services.ts'
export { VISION_TOOL } from './models/vision-inspect-tool.ts'
export { createLocks, LockTimeout, type Locks } from './locks.ts'
export { canonicalToolName, createTools, standardToolNames, toolNames } from './registry.ts'
export { readOnlyTools } from './read-only.ts'
export {
  flatten,
  propertiesOf,
  RISK_FIELD,
  SUMMARY_FIELD,
  isAskedForRisk,
  withPredictedFields,
  type JsonSchema,
  type PredictedFields,
} from './schema.ts'
export {
  builtInTypes,
  currentTypeName,
  MAX_DELEGATES,
  type DelegateRequest,
  type SpawnRequest,
  type SubAgentEnd,
  type SubAgents,
  type SubAgentType,
  type TaskRequest,
} from './sub-agents/index.ts'
export { boundedMatchSource, expectNameFilter, nameFilter } from './name-filter.ts'
export type { ToolSource } from './tool-source.ts'
export {
  expandServer,
  openConversationMcp,
  openMcpPool,
  openToolbox,
  openTryServer,
  type ConversationMcp,
  type TryServer,
} from './mcp/index.ts'
