/** Families of models by their names. Pure. Source: agent-core.md 9.7. */
import type { LLM } from '@parley/protocol'

export type ModelFamily =
  | 'openai_gpt'
  | 'anthropic_claude'
  | 'google_gemini'
  | 'meta_llama'
  | 'mistral'
  | 'deepseek'
  | 'alibaba_qwen'

export type ModelVariant = 'gpt-5' | 'gpt-5-codex'

/** The first match counts. */
const FAMILIES: readonly [RegExp, ModelFamily][] = [
  [/gpt-|codex|(^|[/.])o[134](-|$)/i, 'openai_gpt'],
  [/claude/i, 'anthropic_claude'],
  [/gemini/i, 'google_gemini'],
  // Not ollama, which serves models of every family.
  [/(?<!o)llama/i, 'meta_llama'],
  [/mistral/i, 'mistral'],
  [/deepseek/i, 'deepseek'],
  [/qwen/i, 'alibaba_qwen'],
]

const VARIANTS: readonly [RegExp, ModelVariant][] = [
  [/gpt-5[.\d]*-codex|codex-mini|(^|\/)codex/i, 'gpt-5-codex'],
  [/gpt-5/i, 'gpt-5'],
]

/** Family and variant of a model by its name, else by its canonical name; null when unknown. */
export function familyOf({ model, model_canonical_name }: Pick<LLM, 'model' | 'model_canonical_name'>): {
  family: ModelFamily | null
  variant: ModelVariant | null
} {
  const names = [model, model_canonical_name ?? '']
  const family = first(FAMILIES, names)
  return { family, variant: family === 'openai_gpt' ? first(VARIANTS, names) : null }
}

function first<T>(rows: readonly [RegExp, T][], names: readonly string[]): T | null {
  for (const name of names) {
    const row = rows.find(([pattern]) => pattern.test(name))
    if (row !== undefined) return row[1]
  }
  return null
}
