import type { Workspace } from '../workspace/index.ts'

/** Skills for the tool that invokes them. */
export interface SkillService {
  /**
   * Returns the text of a skill for the model, or the reason why there is none. Commands in it are executed where the
   * skill is trusted.
   * @throws the signal's reason when aborted.
   */
  invoke(
    name: string,
    call: { callId: string; workspace: Workspace; signal: AbortSignal },
  ): Promise<{ text: string; isError: boolean }>
}
