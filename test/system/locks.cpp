// The client as blocking calls, which these tests share with the integration tests.
#include "integration/locks.cpp"
