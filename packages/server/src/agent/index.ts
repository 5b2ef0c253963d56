/** The door of this room. */
export type { Agent, Asked, Step, Turn } from './agent.ts'
/** Loaded with the first agent that is another program. */
export const loadAcpAgent = () => import('./acp/acp-agent.ts')
export { expectAcpRecord } from './acp/supported.ts'
export { canCondense } from './condenser/index.ts'
export { CAPS, recordText } from './condenser/record-text.ts'
export { withLlm } from './native/with-llm.ts'
export type { HookedCall, ToolHooks } from './gateway.ts'
export { askHookHelper, expectHookTools, type HookHelperDeps } from './hook-helper.ts'
export { createNativeAgent, resolveTools, type NativeAgentDeps } from './native/native-agent.ts'
export type { SeeingProfile } from './native/vision.ts'
export { staticPrompt } from './native/system-prompt.ts'
export { NO_FILES, type PromptFiles } from './prompts/files.ts'
/** Loaded with the first prompt file. */
export const loadTemplates = () => import('./prompts/template.ts')
export { acpPrompts } from './prompts/values.ts'
export { createReplayAgent, type Replay } from './replay/replay-agent.ts'
export { V0_ROOT, type RecordedCall, type RecordedTurn, type Recording } from './replay/recording.ts'
export { outcome, outcomeOf, taskList, viewed, type Outcome } from './replay/outcome.ts'
export { View } from './native/view.ts'
export { enforce, manipulationIndices, nextManipulationIndex } from './native/view-properties.ts'
