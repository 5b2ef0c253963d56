/** One statement of the interface document, or one answer of ours to a question it leaves open. */
export type Requirement = {
  /** Stable; `seed.` for the document's own statements, `design.` for our answers. Tests cite it. */
  readonly id: string
  readonly text: string
  /** Heading that the statement stands under. */
  readonly section: string
}

/** The requirements of one section, written as pairs of id and text so that every id can be searched for as it is. */
export function rows(section: string, pairs: readonly (readonly [id: string, text: string])[]): readonly Requirement[] {
  return pairs.map(([id, text]) => ({ id, text, section }))
}
