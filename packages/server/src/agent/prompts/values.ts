/** What a prompt is made from: values that follow from the agent's record, and those that a caller gives. Pure. Source: agent-core.md 9.4, 9.5. */
import { ParleyError, type AgentBase, type LLM } from '@parley/protocol'
import { canonicalToolName } from '../../tools/index.ts'
import { POLICY } from '../native/prompt-sections.ts'
import type { PromptFiles } from './files.ts'
import { familyOf } from './model-family.ts'
import type { Values } from './template.ts'

const DEFAULT_POLICY = 'security_policy.j2'
const BROWSER_TOOLS = 'browser_tool_set'

export type PromptConfig = Pick<
  AgentBase,
  | 'system_prompt'
  | 'system_prompt_filename'
  | 'security_policy_filename'
  | 'system_prompt_kwargs'
  | 'agent_context'
  | 'tools'
> & { llm: Pick<LLM, 'model' | 'model_canonical_name'> }

/**
 * The policy's text, word for word; empty for none.
 * @throws ParleyError `unsupported` for a file that was not read.
 */
export function policyText({ security_policy_filename: name }: PromptConfig, { policy }: PromptFiles): string {
  if (name === '') return ''
  if (name === DEFAULT_POLICY) return POLICY
  if (policy !== null) return policy
  throw new ParleyError(
    'unsupported',
    `security_policy_filename '${name}' is no built-in text; put the policy into agent_context.system_message_suffix.`,
    { details: { member: 'security_policy_filename' } },
  )
}

/** Values by name. Those of `system_prompt_kwargs` win, except about the security policy, which a field of its own decides. */
export function promptValues(config: PromptConfig, policy: string): Record<string, unknown> {
  const { family, variant } = familyOf(config.llm)
  const context = config.agent_context
  const computed: Values = {
    soul_content: '',
    cli_mode: true,
    // Every call has the risk that the model predicts, whether or not an analyzer looks at it now; one may come later.
    llm_security_analyzer: true,
    enable_browser: config.tools.some(({ name }) => canonicalToolName(name) === BROWSER_TOOLS),
    memory_enabled: context?.load_memory === true || context?.memory_context != null,
    model_name: config.llm.model,
    model_family: family ?? '',
    model_variant: variant ?? '',
  }
  const decided: Values = { security_policy_filename: config.security_policy_filename, security_policy: policy }
  return { ...computed, ...config.system_prompt_kwargs, ...decided }
}

/** Whether a value switches something on, in the words of a template: not empty, not zero, not false. */
export const isOn = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : Boolean(value) && value !== 'false'
