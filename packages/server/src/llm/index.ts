/** Language models: one interface, several providers behind it. */
export type {
  Llm,
  LlmAnswer,
  LlmCall,
  LlmDelta,
  LlmErrorCode,
  LlmImage,
  LlmMessage,
  LlmRequest,
  LlmText,
  LlmTool,
  LlmUsage,
  RefusedPart,
  OpenLlm,
} from './llm.ts'
export type { LlmCompletion } from './completion.ts'
export { LlmError } from './llm.ts'
export { featuresOf } from './models/features.ts'
export { isConfigured, openLlm } from './open.ts'
export { withFallbacks } from './fallback.ts'
export { openTransport, type Transport } from './providers/transport.ts'
export { configuredAddress, NO_SERVER_KEY, ServerKey } from './server-key.ts'
export { openCatalogue, type Catalogue } from './models/catalogue.ts'
export { priceOf } from './models/prices.ts'
export { withKnownPrice } from './known-price.ts'
export type { Retry as ModelRetry } from './retry.ts'
export { DEMO_MODEL } from './models/route.ts'
export { usersModelFor, withUsersModel } from './users-model.ts'
export { probeModel, type ProbeResult } from './probe.ts'
export { checkedImage } from './images/inline-content.ts'
export { fileImage, fittedImage, hasImageName } from './images/file-image.ts'
export { shrinkCommand } from './images/refusals.ts'
export type { ImageShrinker } from './images/shrinker.ts'
export { imageMark, reasoningMark } from './providers/refused-part.ts'
export { splitThought } from './prompted/thoughts.ts'
export { writtenCalls } from './prompted/written-calls.ts'
