/** The room of models: one interface, several providers behind it. */
export type {
  Llm,
  LlmAnswer,
  LlmDelta,
  LlmErrorCode,
  LlmImage,
  LlmMessage,
  LlmRequest,
  LlmText,
  LlmTool,
  LlmUsage,
  OpenLlm,
} from './llm.ts'
export { LlmError } from './llm.ts'
export { featuresOf, type ModelFeatures } from './features.ts'
export { isConfigured, openLlm, type LlmDeps } from './open.ts'
export { withFallbacks, type FallbackDeps } from './fallback.ts'
export { openTransport, type Transport, type TransportOptions } from './transport.ts'
export type { Retry } from './retry.ts'
export { Script, type ScriptedAnswer } from './scripted.ts'
export { openCatalogue, type Catalogue } from './catalogue.ts'
export { priceOf } from './price.ts'
export { probeModel, type ProbeFailure } from './probe.ts'
