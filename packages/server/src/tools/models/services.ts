/** What the tools about models ask of the server and of their agent. Source: agent-core.md 8.6. */

/** The saved profiles of a conversation's owner. */
export type ModelService = {
  /**
   * Makes a profile the agent's model from its next question on; the name of that model.
   * @throws ParleyError with words for the model when there is no such profile, or it cannot be used.
   */
  switchTo(profile: string): Promise<string>
}

export type Inspection = { image_index: number; question: string; profile_name: string | null }

/** `problem`: words for the model; nothing was looked at. */
export type Inspected =
  | { problem: string }
  | { answer: string; profile_name: string; model: string; base_url: string | null }

/** Eyes for an agent whose own model has none. */
export type VisionService = {
  /** Asks a model that sees about an image of the newest message that has any. */
  inspect(wanted: Inspection, signal: AbortSignal): Promise<Inspected>
}
