/** The output limit of a request. Pure. Source: docs/models.md, Ends of an answer. */
import type { LLM } from '@parley/protocol'
import type { CutAnswer } from '../llm.ts'
import { knownModel } from '../models/known-model.ts'
import type { Remote } from '../models/route.ts'

/**
 * Output limit of other vendors' models at endpoints in Anthropic's format, where one is required and the table has none: the library
 * would choose 4,096, with which long files are cut off. The plans of Kimi and MiniMax accept it from the agent that they are made for.
 */
const FOREIGN_LIMIT = 32_000

type Config = Pick<LLM, 'max_output_tokens' | 'model_canonical_name'>

/**
 * Returns the limit to ask for, in tokens; null: that of the library or the server. After an answer that was cut off it is that of the
 * model, but at most half of what the window has left, because some servers refuse a limit that does not fit into it.
 */
export function outputLimit(config: Config, route: Remote, afterCut?: CutAnswer): number | null {
  const usual = usualLimit(config, route)
  if (afterCut === undefined) return usual
  const known = factsOf(config, route)
  const reached = Math.max(usual ?? 0, afterCut.answer)
  const window = afterCut.window > 0 ? afterCut.window : known?.window
  if (known?.output === undefined || window === undefined || reached === 0) return usual
  const allowed = Math.min(known.output, Math.floor((window - afterCut.total) / 2))
  return allowed > reached ? allowed : usual
}

function usualLimit(config: Config, route: Remote): number | null {
  const isForeign = route.api === 'anthropic' && !/claude/i.test(route.modelId)
  return config.max_output_tokens ?? (isForeign ? foreignLimit(factsOf(config, route)) : null)
}

/** The longest answer of some models is their whole window, and some servers refuse a limit that does not fit beside the request. */
function foreignLimit(known: ReturnType<typeof factsOf>): number {
  if (known?.output === undefined) return FOREIGN_LIMIT
  return Math.min(known.output, known.window === undefined ? FOREIGN_LIMIT : Math.floor(known.window / 4))
}

const factsOf = (config: Config, { modelId }: Remote) => knownModel(config.model_canonical_name ?? modelId)
