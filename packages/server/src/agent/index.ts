/** Agents: the native one, those of ACP programs, and replays of recordings. */
export type { Agent, Step, StepContext } from './agent.ts'
/** Loaded with the first ACP agent. */
export const loadAcpAgent = () => import('./acp/acp-agent.ts')
/** Loaded when a page asks which agents are installed. */
export const loadKnownAcpServers = async () => (await import('./acp/installed.ts')).knownAcpServers
export { canCondense } from './condenser/index.ts'
export { CAPS, recordText } from './condenser/record-text.ts'
export { withLlm } from './with-llm.ts'
export type { ToolHooks } from './gateway/tool-gateway.ts'
export { askHookHelper, expectHookTools, type HookHelperDeps } from './hook-helper.ts'
export { isEndNotice } from './native/answer-end.ts'
export { createNativeAgent, resolveTools, type NativeAgentDeps } from './native/native-agent.ts'
export { staticPrompt } from './prompts/system-prompt.ts'
export { standardTools, toolsOfReplay, type StandardTools } from './standard-tools.ts'
export { withVision, type VisionProfile } from './native/vision.ts'
export { expectAgent } from './agent-checks.ts'
export { openPromptFiles, promptFilesOf, promptsDir } from './prompts/prompt-files.ts'
export { acpPrompts } from './prompts/values.ts'
export { createReplayAgent } from './replay/replay-agent.ts'
export {
  V0_ROOT,
  type ComparedOutcome,
  type RecordedCall,
  type RecordedTurn,
  type Recording,
} from './replay/recording.ts'
export { outcome, outcomeOf, taskList, viewedLines } from './replay/outcome.ts'
export type { PruneLimits } from './view/pruning.ts'
export { View } from './view/view.ts'
