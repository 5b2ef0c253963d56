/** The name of a file, in which characters that hide or reorder others are visible. */
import { Visible } from '../../approve/visible.tsx'

export const Name = ({ text }: { text: string }) => (HIDING.test(text) ? <Visible text={text} /> : <bdi>{text}</bdi>)

/** Control and format characters. Letters of other scripts are usual in names and are shown as they are. */
const HIDING = /[\p{Cc}\p{Cf}]/u
