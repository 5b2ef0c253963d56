/** A statement of the interface document, or Parley's answer to a question that it leaves open. */
export type Requirement = {
  /** Stable. `seed.` marks statements of the document, `design.` Parley's answers. Tests cite it. */
  readonly id: string
  readonly text: string
  /** Heading of the statement. */
  readonly section: string
}

/** The requirements of one section, written as pairs of id and text so that every id can be searched for as it is. */
export function rows(section: string, pairs: readonly (readonly [id: string, text: string])[]): readonly Requirement[] {
  return pairs.map(([id, text]) => ({ id, text, section }))
}
