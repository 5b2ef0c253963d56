/** Services for the tools about models. Source: agent-core.md 8.6. */

/** Saved profiles of a conversation's owner. */
export type ModelService = {
  /**
   * Makes a profile the agent's model from its next call on; resolves to the name of that model.
   * @throws ParleyError with a message for the model when the profile does not exist, or cannot be used.
   */
  switchTo(profile: string): Promise<string>
}

type Inspection = { image_index: number; question: string; profile_name: string | null }

/** `problem`: a message for the model; no image was sent. */
export type InspectionResult =
  | { problem: string }
  | { answer: string; profile_name: string; model: string; base_url: string | null }

/** Vision for an agent whose own model has none. */
export type VisionService = {
  /** Asks a model with vision about an image of the newest message that has images. */
  inspect(wanted: Inspection, signal: AbortSignal): Promise<InspectionResult>
}
