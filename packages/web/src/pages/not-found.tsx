import { usePageTitle } from '../lib/page-title.ts'
import { ROUTES } from '../routes.ts'
import { ButtonLink } from '../ui/button.tsx'
import { en } from '../words/en.ts'

/** The page for addresses without one. */
export function NotFoundPage() {
  usePageTitle(en.notFound.title)
  return (
    <div className="page">
      <h1>{en.notFound.title}</h1>
      <p className="page-lead">{en.notFound.text}</p>
      <p className="page-actions">
        <ButtonLink href={ROUTES.home}>{en.notFound.home}</ButtonLink>
      </p>
    </div>
  )
}
