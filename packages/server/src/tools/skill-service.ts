import type { Workspace } from '../workspace/index.ts'

/** What the tool for skills asks for. */
export interface SkillService {
  /**
   * The text of a skill for the model, or why there is none. Commands in it are run where the skill is trusted.
   * @throws the signal's reason when aborted.
   */
  invoke(
    name: string,
    call: { callId: string; workspace: Workspace; signal: AbortSignal },
  ): Promise<{ text: string; isError: boolean }>
}
