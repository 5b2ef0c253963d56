/** The request after a refusal that an optional part of a request may have caused. Pure. */
import { LlmError, type LlmRequest } from '../llm.ts'

/**
 * Texts of servers that know functions alone, and no custom tools, or another form of grammars. Source: https://github.com/duolahypercho/codex-router/issues/78,
 * https://github.com/Wei-Shaw/sub2api/issues/3390
 */
const NO_CUSTOM_TOOLS = /\bcustom\b|\bgrammar\b|\btools\[\d+\]\.(?:type|format)\b/i

type Sent = {
  /** The request had a higher output limit than usual. */
  isRaised: boolean
  /** The request offered custom tools. */
  hasCustomTools: boolean
}

/** `usual`: the same request without the higher limit. `functions`: with tools that all servers know. Null: the refusal stands. */
export function milderRequest(error: unknown, { isRaised, hasCustomTools }: Sent): 'usual' | 'functions' | null {
  if (!(error instanceof LlmError)) return null
  const isBad = error.code === 'LLMBadRequestError' || error.code === 'NotFoundError'
  if (hasCustomTools && isBad && NO_CUSTOM_TOOLS.test(error.message)) return 'functions'
  // Another host may offer less of a model than its maker.
  const isAboutLimit = (isBad && error.refused === null) || error.code === 'LLMContextWindowExceedError'
  return isRaised && isAboutLimit ? 'usual' : null
}

/** Returns the request with tools that every model calls with JSON. */
export const withFunctions = (request: LlmRequest): LlmRequest => ({
  ...request,
  tools: request.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
})
