/** A risk by colour, word and shape. */
import { CircleAlert, CircleHelp, OctagonAlert, TriangleAlert } from '../ui/icons.ts'
import { conversation as words } from '../words/conversation.en.ts'
import './risk.css'

const SHAPES = { LOW: CircleAlert, MEDIUM: TriangleAlert, HIGH: OctagonAlert, UNKNOWN: CircleHelp } as const
type Level = keyof typeof SHAPES

/** A known level; UNKNOWN for anything else. */
const levelOf = (risk: string): Level => (risk in SHAPES ? (risk as Level) : 'UNKNOWN')

/** `isQuiet`: nothing for a risk that is low or unknown. */
export function Risk({ risk, isQuiet = false }: { risk: string; isQuiet?: boolean }) {
  const level = levelOf(risk)
  if (isQuiet && (level === 'LOW' || level === 'UNKNOWN')) return null
  const Shape = SHAPES[level]
  return (
    <span className={`risk ${level.toLowerCase()}`}>
      <Shape size={14} aria-hidden />
      {words.risks[level]}
    </span>
  )
}
