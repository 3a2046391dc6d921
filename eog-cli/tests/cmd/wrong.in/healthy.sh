# A policy that finds all entities healthy.
cat >/dev/null
echo '{"label": "healthy", "summary": "all is well here"}'
