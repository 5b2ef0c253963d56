/** What was read from the files that an agent's record names. Source: agent-core.md 9.2, 9.5. */
import type { PromptTemplate } from './template.ts'

export type PromptFiles = {
  /** Of `system_prompt_filename`; null: a built-in text is meant. */
  template: PromptTemplate | null
  /** Text of `security_policy_filename`; null: the built-in policy, or none, is meant. */
  policy: string | null
}

/** For an agent that names built-in texts alone. */
export const NO_FILES: PromptFiles = { template: null, policy: null }
