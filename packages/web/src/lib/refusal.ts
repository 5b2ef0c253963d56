/** Refusals of the server beside the fields of a form. Pure. */
import { messageOf, ServerError } from '../api/errors.ts'

export type Refusal<Field extends string> = {
  readonly fields: Readonly<Partial<Record<Field, string>>>
  /** What belongs to no field; empty: nothing. */
  readonly problem: string
}

/** The messages of a 422 by the member that they are about; any other error is a sentence. */
export function refusalOf<Field extends string>(error: unknown, fields: readonly Field[]): Refusal<Field> {
  const found: Partial<Record<Field, string>> = {}
  const others: string[] = []
  const failures = error instanceof ServerError && Array.isArray(error.detail) ? error.detail : []
  for (const { loc, msg } of failures as { loc?: readonly unknown[]; msg?: unknown }[]) {
    const field = fields.find((name) => loc?.includes(name))
    const text = String(msg).replace(/^Value error, /, '')
    const sentence = text.charAt(0).toUpperCase() + text.slice(1)
    if (field === undefined) others.push(sentence)
    else found[field] ??= sentence
  }
  if (failures.length === 0) return { fields: found, problem: messageOf(error) }
  return { fields: found, problem: others.join('; ') }
}
