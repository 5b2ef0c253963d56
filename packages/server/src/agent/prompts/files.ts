/** Contents of the prompt files that an agent's record names. Source: agent-core.md 9.2, 9.5. */
import type { PromptTemplate } from './template.ts'

export type PromptFiles = {
  /** Template of `system_prompt_filename`; null when it names a built-in text. */
  template: PromptTemplate | null
  /** Text of `security_policy_filename`; null for the built-in policy or none. */
  policy: string | null
}

/** For an agent that names built-in texts only. */
export const NO_FILES: PromptFiles = { template: null, policy: null }
