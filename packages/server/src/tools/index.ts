/** The door of this room. */
export type { Recovery, Tool, ToolContext } from './tool.ts'
export type { ToolServices } from './services.ts'
export { createLocks, LockTimeout, LOCK_LIMITS_MS, type Locks } from './locks.ts'
export { canonicalToolName, createTools, toolNames, type ToolSelection } from './registry.ts'
export { readOnlyTools } from './read-only.ts'
export { flatten, propertiesOf, RISK_FIELD, SUMMARY_FIELD, withPredictedFields, type JsonSchema } from './schema.ts'
